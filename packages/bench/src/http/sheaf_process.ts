// A gateway in a process of its own: the benchmark's client must not share its event loop.
import { Gateway, loadConfiguration, onlyGateway } from '@sheaf/gateway';

const file = process.argv[2];
if (file === undefined) throw new Error('usage: sheaf_process.js CONFIGURATION');
const gateway = await Gateway.start(onlyGateway(await loadConfiguration(file)));
process.stdout.write('ready\n');
process.once('SIGTERM', () => void gateway.close().then(() => process.exit(0)));
