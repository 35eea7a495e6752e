// Runs the nodes of a configuration file as `sheaf up` does. Arguments: the file, milliseconds for a process that takes over to
// get ready, and what runs as that process.
import { RunningConfiguration, Succession } from '@sheaf/gateway';

const [program, file, timeoutMs, successor] = process.argv.slice(1);
const { SHEAF_SUCCESSOR: succeeds, ...env } = process.env;
delete process.env.SHEAF_SUCCESSOR;

const succession = succeeds === undefined ? undefined : await Succession.receive();
const running = await RunningConfiguration.start({
  file,
  choose: ({ nodes }) => nodes,
  upgrade: {
    command: { file: process.execPath, args: [successor ?? program, file, timeoutMs], env },
    timeoutMs: Number(timeoutMs),
  },
  ...(succession && { succession }),
  now: () => new Date(),
});
succession?.serving();
const over = new Promise((resolve) => process.on('SIGTERM', resolve));
const { left, drained } = running.upgrader;
await Promise.race([over, drained, left.then(() => running.retire())]);
await running.close();
process.exit(0);
