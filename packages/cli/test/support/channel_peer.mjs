// A receiver of a channel as a process, with the address of a gateway and a path. It prints a line of JSON for each state, and leaves on SIGTERM.
import { connectHttp3, watchChannel } from '@sheaf/native';

const [, , host, port, path] = process.argv;
const client = await connectHttp3({ host, port: Number(port), alpn: ['h3'], insecure: true, datagrams: true });
const channel = await watchChannel(client, { path });
const print = (state) => process.stdout.write(`${JSON.stringify({ state })}\n`);
print(channel.state);
channel.on('state', print);
channel.on('close', () => void client.close());
process.once('SIGTERM', () => channel.leave());
