// A client that begins a request, says `open`, and never ends it. Argument: the port.
import { Readable } from 'node:stream';
import { connectHttp3 } from '@sheaf/native';

const client = await connectHttp3({ host: '127.0.0.1', port: Number(process.argv[2]), alpn: ['h3'], insecure: true });
const body = new Readable({ read() {} });
body.push('beginning');
const response = await client.request({ method: 'POST', path: '/', body });
response.resume();
process.stdout.write('open\n');
