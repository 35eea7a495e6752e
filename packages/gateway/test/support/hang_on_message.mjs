// Hangs the main thread of a process for as many milliseconds as each message of a test says.
import { isMainThread } from 'node:worker_threads';

if (isMainThread)
  process.on('message', (milliseconds) => {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
  });
