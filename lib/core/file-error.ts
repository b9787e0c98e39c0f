// Turns the system's errors about files into FileError: what was tried, on what, why it failed, and what to do.
import { dirname } from 'node:path';
import { FileError, refusal } from './errors.ts';

/** For each system code: what is wrong, and what to do. */
const words: Readonly<Record<string, readonly [reason: string, remedy: string]>> = {
  ENOENT: ['there is no such file or folder', 'check the name, and that the folder it is in exists'],
  EACCES: ['the system does not permit it', 'change its permissions, or choose another place'],
  EPERM: ['the system does not permit it', 'change its permissions, or choose another place'],
  EISDIR: ['it is a folder', 'name a file'],
  ENOTDIR: ['a part of the path is a file, not a folder', 'name a folder, or move the file away'],
  EEXIST: ['it exists already', 'move it away, or choose another name'],
  ENOTEMPTY: ['the folder is not empty', 'move it away, or choose another name'],
  EROFS: ['the file system is read-only', 'choose a place that can be written to'],
  ENOSPC: ['no space is left on the device', 'free some space, or choose a place on another disk, and run it again'],
  EDQUOT: ['the disk quota is used up', 'free some space, or choose a place on another disk, and run it again'],
  EFBIG: ['the file would be longer than the file system allows', 'choose a place on another disk'],
  EMFILE: ['this process has too many files open', 'raise the limit (ulimit -n), or do fewer things at a time'],
  ENFILE: ['the system has too many files open', 'close other programs, or raise the system\'s limit'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter one'],
  ELOOP: ['its symbolic links form a loop', 'name the file itself'],
  EXDEV: ['it is on another file system', 'choose a place on the same one'],
  EBUSY: ['it is in use', 'close the program that uses it, and run it again'],
  ETXTBSY: ['it is a program that runs', 'end the program, and run it again'],
  EIO: ['the device failed', 'look for a failing disk or a lost network drive'],
  ERR_FS_FILE_TOO_LARGE: ['it is longer than 2 GiB', 'split it'],
};

/** Node's permissions, and the flags that grant them. */
const nodeFlags: Readonly<Record<string, string>> = {
  FileSystemRead: '--allow-fs-read', FileSystemWrite: '--allow-fs-write', ChildProcess: '--allow-child-process',
  WorkerThreads: '--allow-worker', Addon: '--allow-addons',
};

interface SystemError extends Error {
  readonly code?: string;
  readonly path?: string;
  readonly syscall?: string;
  /** For ERR_ACCESS_DENIED: what is not permitted, and on what. */
  readonly permission?: string;
  readonly resource?: string;
}

/**
 * The flag that grants what a permission model denied: Node's (`ERR_ACCESS_DENIED`) or Deno's (`NotCapable`; before Deno 2
 * `PermissionDenied`); undefined for other errors.
 */
export function permissionRemedy(value: unknown, path?: string): string | undefined {
  if (!(value instanceof Error)) return undefined;
  const error = value as SystemError;
  if (error.code === 'ERR_ACCESS_DENIED') {
    const flag = nodeFlags[error.permission ?? ''] ?? '--allow-fs-read and --allow-fs-write';
    const place = path ?? error.resource;
    return `run Node with ${flag}${flag.startsWith('--allow-fs') && place !== undefined ? `=${place}` : ''}`;
  }
  if (error.name !== 'NotCapable' && error.name !== 'PermissionDenied') return undefined;
  const kind = /--allow-(read|write|ffi|run|env|sys)|\b(read|write|ffi|run|env|sys) access/.exec(error.message);
  const flag = `--allow-${kind?.[1] ?? kind?.[2] ?? 'read'}`;
  return `run Deno with ${flag}${path !== undefined && /read|write/.test(flag) ? `=${path}` : ''}`;
}

/** The library's error for a system error about a file; any other value is returned unchanged. */
export function fileError(value: unknown, action: string, path: string): unknown {
  if (!(value instanceof Error) || value instanceof FileError) return value;
  const error = value as SystemError;
  const permission = permissionRemedy(error, action === 'write' ? dirname(path) : path); // a new file is first written next to the old one
  if (permission !== undefined) {
    return new FileError('the permission model denies it',
      { action, path, systemCode: error.code ?? error.name, remedy: permission, cause: error });
  }
  if (error.code === 'ERR_INVALID_ARG_VALUE' || error.code === 'ERR_INVALID_ARG_TYPE') {
    return refusal('path', 'a path without null bytes', 'one with a null byte', { cause: error });
  }
  const known = words[error.code ?? ''];
  if (known === undefined && error.syscall === undefined) return value;
  const [reason, remedy] = known ?? [error.message, 'see the system\'s error message'];
  return new FileError(reason, { action, path, systemCode: error.code ?? 'UNKNOWN', remedy, cause: error });
}
