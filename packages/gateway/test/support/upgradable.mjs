// Runs nodes of a configuration file as `sheaf up` does. Arguments: the file, milliseconds for a process that takes over to get
// ready, the name of the node or `all`, and what runs as that process.
import { RunningConfiguration, Succession } from '@sheaf/gateway';

const [program, file, timeoutMs, name, successor] = process.argv.slice(1);
const { SHEAF_SUCCESSOR: succeeds, ...env } = process.env;
delete process.env.SHEAF_SUCCESSOR;

const isChosen = (each) => name === 'all' || each === name;
const succession = succeeds === undefined ? undefined : await Succession.receive();
const running = await RunningConfiguration.start({
  file,
  filesOf: isChosen,
  choose: ({ nodes }) => nodes.filter((node) => isChosen(node.name)),
  upgrade: {
    command: { file: process.execPath, args: [...process.execArgv, successor ?? program, file, timeoutMs, name], env },
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
