// A program with a gateway in it, in which the API of OpenTelemetry cannot be found. Prints what an upstream hears of a trace.
import { createServer } from 'node:http';
import { register } from 'node:module';
import { once } from 'node:events';

const hooks = `export function resolve(name, context, next) {
  if (!name.startsWith('@opentelemetry/')) return next(name, context);
  throw Object.assign(new Error('it is not installed'), { code: 'ERR_MODULE_NOT_FOUND' });
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { closeNodes, parseConfiguration, startNodes } = await import('@sheaf/gateway');

const [directory, traceparent] = process.argv.slice(2);
const upstream = createServer(({ headers }, response) => response.end(headers.traceparent)).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const origin = `http://127.0.0.1:${upstream.address().port}`;
const { nodes } = parseConfiguration(
  `listen: 127.0.0.1:0
http: 127.0.0.1:0
log: { level: silent }
tracing: { trust: 127.0.0.1 }
routes: [{ upstream: "${origin}" }]`,
  `${directory}/sheaf.yaml`,
);
const running = await startNodes(nodes);
const response = await fetch(`http://127.0.0.1:${running[0].httpAddress.port}/`, { headers: { traceparent } });
const installed = await import('@opentelemetry/api').then(
  () => true,
  () => false,
);
process.stdout.write(JSON.stringify({ installed, told: await response.text() }));
await closeNodes(running, 0);
upstream.closeAllConnections();
upstream.close();
