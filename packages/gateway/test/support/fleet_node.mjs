// Runs one node of a configuration file in a process of its own, which a test can kill. Arguments: the file, the name of the node.
import { RunningConfiguration } from '@sheaf/gateway';

const [file, name] = process.argv.slice(2);
await RunningConfiguration.start({
  file,
  filesOf: (each) => each === name,
  choose: ({ nodes }) => nodes.filter((node) => node.name === name),
  now: () => new Date(),
});
process.stdout.write('ready\n');
