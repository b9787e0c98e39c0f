// Lets worker threads load TypeScript in programs that run from source.
import { register } from 'tsx/esm/api';

register();
