// What firings cost on a multiprocessor where nothing has been measured, from counted operations.

/** Operations that take as long as an item that is read or written in the device's memory. */
const operationsPerItem = 16;
const microsecondsPerOperation = 1e-3;
/**
 * The same for one thread that makes firings in order: a multiprocessor could make so many other operations while it waits for the result
 * of one (3.5 cycles: not each one waits for the one before), or for an item from shared memory (8 cycles: places are known beforehand, so
 * several are under way). A smoothing filter (y = a y + b x) makes 42 million firings a second on an H200, and 38 million by these counts.
 */
const operationsInOrder = 448, itemInOrder = 1024;

/** What an entry of a list takes besides its work, about 1000 cycles from its loads to the barrier behind its stores. */
export const entryMicroseconds = 128_000 * microsecondsPerOperation;

/** A firing of one of many threads. `cost`: microseconds of its operations on a core, as counted; `moved`: words that it moves. */
export function parallelTime(cost: number, moved: number): number {
  return cost + moved * operationsPerItem * microsecondsPerOperation;
}

/** The same of a thread that makes firings in order, while the others of its block only bring and store its items. */
export function orderedTime(cost: number, moved: number): number {
  return operationsInOrder * cost + moved * (operationsPerItem + itemInOrder) * microsecondsPerOperation;
}

/** A multiprocessor's operations in a cycle, and its cycles in a microsecond. */
const operationsInCycle = 128, cyclesInMicrosecond = 1700;

/** What these costs come to on a device, in microseconds: right to a factor of a few. */
export function deviceMicroseconds(cost: number): number {
  return cost / microsecondsPerOperation / operationsInCycle / cyclesInMicrosecond;
}
