// Limits of the core, in one place. Limits of an operation are in its check().

/** The maximum number of elements of an array: for every element type, the size in bytes is exact as a JavaScript number. */
export const maxElements = Math.floor(Number.MAX_SAFE_INTEGER / 16);

/** The default of `openDevice({ queueLimit })`: how many calls may wait on a device. */
export const defaultQueueLimit = 1024;

/** Largest `queueLimit`. */
export const maxQueueLimit = 2 ** 20;

/** Largest number of worker threads of the cpu backend. */
export const maxThreads = 1024;
