// What a worker thread does, as text: makes its machine once, then runs it with each message (Parts) and answers.
import { machineText } from './machine-text.ts';

export const workerText = `
'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const run = ((common) => {${machineText}})(workerData);
parentPort.on('message', (parts) => { parentPort.postMessage(run(parts)); });
`;
