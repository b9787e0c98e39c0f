// For worker threads of programs that run from the sources: lets them load TypeScript.
import { register } from 'tsx/esm/api';

register();
