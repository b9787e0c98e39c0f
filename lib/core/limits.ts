// Limits of the core, in one place. Limits of an operation are in its check().

/** Elements of one array: bytes stay exact in a JavaScript number for every element type. */
export const maxElements = Math.floor(Number.MAX_SAFE_INTEGER / 16);

/** Calls that may wait on a device, unless `openDevice({ queueLimit })` says otherwise. */
export const defaultQueueLimit = 1024;

/** Largest `queueLimit`. */
export const maxQueueLimit = 2 ** 20;

/** Largest number of worker threads of the cpu backend. */
export const maxThreads = 1024;
