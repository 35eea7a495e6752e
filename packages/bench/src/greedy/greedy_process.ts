// Runs greedy clients in a process of their own, since another client, whose times are measured, must not share their
// event loop.
import { startGreedyClient, type Behaviour, type Protocol } from './greedy_clients.js';

const [protocol, behaviour, ...numbers] = process.argv.slice(2) as [Protocol, Behaviour, ...string[]];
const [port = 0, requests = 0, count = 0] = numbers.map(Number);
let connections = 0;
for (let i = 0; i < count; i++) connections = await startGreedyClient(protocol, behaviour, port, requests);
process.stdout.write(`${connections}\n`);
