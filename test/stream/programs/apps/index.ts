// Applications of medium size in the ways people write them.
import type { App } from './app.ts';
import { audio } from './audio.ts';
import { ciphers } from './ciphers.ts';
import { control } from './control.ts';
import { images } from './images.ts';
import { links } from './links.ts';
import { matrices } from './matrices.ts';
import { radio } from './radio.ts';

export const apps: readonly App[] = [...audio, ...ciphers, ...control, ...images, ...links, ...matrices, ...radio];
