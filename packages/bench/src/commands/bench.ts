import { experimentCommands, type Command } from '@sheaf/cli';
import { UserError } from '@sheaf/gateway';

interface BenchOptions {
  name: string;
  json: boolean;
  [option: string]: unknown;
}

/** Options of all experiments. Each experiment refuses the options of the others. A test compares them. */
const options = {
  check: {
    type: 'boolean',
    describe:
      'direct-return, engine, http, multicast, tunnels: end with code 5 when the comparison misses a required figure',
  },
  profile: {
    type: 'boolean',
    describe: 'direct-return: what the gateway works at instead of how much, by perf',
  },
  acks: {
    type: 'string',
    requiresArg: true,
    describe: 'direct-return (2,10,32): packets for each acknowledgement of the clients, with commas between',
  },
  peers: { type: 'boolean', describe: 'engine: build and run ngtcp2, quiche and quinn-proto as well' },
  sim: { type: 'boolean', describe: 'direct-return, multi-end, multicast, pages, paths, tunnels: run in virtual time' },
  browser: {
    type: 'string',
    describe: 'pages: run in a browser, chromium (default) or firefox, over links in real time',
  },
  real: {
    type: 'boolean',
    describe:
      'direct-return, multi-end: run processes on loopback, next to Caddy; multicast: run them on hosts at a switch, next to uftp and NORM; paths: run over loopback, next to noq; tunnels: run processes on loopback, next to masque-go',
  },
  'hand-over': { type: 'boolean', describe: 'multi-end: measure time and memory of a connection at a backend' },
  runs: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (3; simulated: 5), engine (30), greedy (5), http (5), multi-end (20, 3, 5), multicast (30; simulated, real: 5), pages (20), paths (30, 5), schedulers (5), tunnels (few; real: 5), upload (5), workers (3): repeat each measurement so often',
  },
  'fault-runs': {
    type: 'string',
    requiresArg: true,
    describe: 'multi-end (50): number of seeds for each simulated fault',
  },
  bytes: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (1000 to 10000000, with commas between), engine (100 MB), http (1 GB), multi-end (500 KB), multicast (2 MB; real: 20 MB), paths (200 MB), tunnels (1 GB: all downloads of a run), upload (1 GB), workers (400 MB): size of a transfer',
  },
  connections: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (32), http (100), soak (10), workers (100): connections at one time; multi-end (500): connections that are handed over',
  },
  quota: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return, tunnels (0.15,1): shares of a processor that the balancer or the proxy may use, with commas between; workers (0.25,1): the same for each worker; 1: not limited',
  },
  seconds: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (2), http (5), soak (600), workers (3): length of the load; fleet (10): length of a fault, and of the load after it; paths (10): simulated length of a run',
  },
  seed: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return, multi-end, multicast, pages, paths, tunnels (1): seed of the first simulated run; fleet (1): seed of the balancer and of the choice of processes; soak (random): seed of the hostile clients',
  },
  clients: {
    type: 'string',
    requiresArg: true,
    describe:
      'greedy (1): clients at one time, or several such numbers (1,100); multi-end (8): client processes; multicast (1,10,50,100,1000; real: 2,50): numbers of receivers; pages (1): clients that load the page at one time over the same links; tunnels (1,50): numbers of downloads at one time',
  },
  requests: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (8): requests at a time on each connection; greedy (1,000): requests of each client; multi-end (100): downloads of each client; soak: total at full load, instead of a rate',
  },
  backends: {
    type: 'string',
    requiresArg: true,
    describe: 'direct-return (3): number of backends; multi-end (1,3): several of them, with commas between',
  },
  page: { type: 'string', requiresArg: true, describe: 'pages: load only these, with commas between' },
  tree: { type: 'string', requiresArg: true, describe: 'pages: use only these styles of priorities' },
  level: { type: 'string', requiresArg: true, describe: 'pages: use only these levels of dynamicity' },
  scheduler: {
    type: 'string',
    requiresArg: true,
    describe: 'pages: use only these; variants of ours without one of its parts have to be named',
  },
  protocol: { type: 'string', requiresArg: true, describe: 'http, workers (h3): h3, or h2 for HTTP/2 over TLS' },
  protocols: { type: 'string', requiresArg: true, describe: 'greedy (h3,h2,h1): protocols of the greedy clients' },
  cases: {
    type: 'string',
    requiresArg: true,
    describe:
      'direct-return (first-packet,loss,numbers,fairness,faults): simulated experiments; greedy (files,upstream,headers,bodies): requests of the greedy clients; multicast (reports,failures,all-at-once,minute): simulated trees; tunnels (all): what --real measures',
  },
  cells: {
    type: 'string',
    requiresArg: true,
    describe: 'tunnels (figure-2,figure-10,figure-15): artefacts of the paper whose set-ups are simulated',
  },
  datagrams: {
    type: 'string',
    requiresArg: true,
    describe: 'tunnels (1,000,000): datagrams that a hostile client sends, with --real',
  },
  tunnels: {
    type: 'string',
    requiresArg: true,
    describe: 'tunnels (10,000): idle tunnels, with --real',
  },
  report: {
    type: 'string',
    requiresArg: true,
    describe: 'pages: write the report (HTML, Markdown, CSV, JSON) into this directory',
  },
  resume: { type: 'boolean', describe: 'multi-end, pages: keep the cells that an earlier run finished' },
  loss: {
    type: 'string',
    requiresArg: true,
    describe: 'multicast (0,1): shares of the packets to receivers that are lost, in percent, with commas between',
  },
  rates: {
    type: 'string',
    requiresArg: true,
    describe:
      'multicast (20,35,50,100,200,400,600,800): Mbit/s, of which each sender gets the rate at which it is fastest',
  },
  rate: { type: 'string', requiresArg: true, describe: 'soak (200): requests a second' },
  hostile: {
    type: 'string',
    requiresArg: true,
    describe: 'soak (0%): share of the connections that are hostile, with --requests',
  },
} as const;

export const bench: Command<BenchOptions> = {
  ...experimentCommands.bench,
  options: (yargs) =>
    yargs
      .positional('name', {
        type: 'string',
        demandOption: true,
        describe:
          'Experiment: direct-return, engine, fleet, greedy, http, multi-end, multicast, pages, paths, schedulers, soak, tunnels, upload or workers',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print only JSON on standard output' })
      .options(options)
      // The experiment reports which of its options was probably meant.
      .strict(false)
      .strictCommands(false)
      .example(
        '$0 bench direct-return --real --check',
        'What a gateway works when its backends answer clients themselves, next to proxying and Caddy',
      )
      .example(
        '$0 bench direct-return --sim',
        'First packets, loss, packet numbers, fairness and faults of such backends, in virtual time',
      )
      .example('$0 bench engine --peers', 'Cost of the transport alone, in memory, next to other libraries')
      .example(
        '$0 bench fleet',
        'Gateways, backends and servers of NATS are killed under load, behind a balancer that sprays datagrams',
      )
      .example('$0 bench greedy', 'What clients that take nothing cost the gateway, and other clients of it')
      .example('$0 bench http', 'Throughput and requests per second over loopback, next to Caddy')
      .example(
        '$0 bench multi-end --sim',
        'Servers that answer on paths of one connection, next to proxying, and what happens when one fails, in virtual time',
      )
      .example(
        '$0 bench multi-end --real',
        'Processor time of a primary and its backends for direct delivery, proxying, and Caddy',
      )
      .example('$0 bench multicast --check', 'What a channel costs its source and a receiver, next to unicast')
      .example('$0 bench multicast --real', 'A channel between hosts at a switch, next to unicast, uftp and NORM')
      .example('$0 bench multicast --sim', 'A channel on a tree with 1,000 receivers, in virtual time')
      .example(
        '$0 bench pages --sim --report pages',
        'Page loads over two paths with every stream scheduler, in virtual time',
      )
      .example(
        '$0 bench pages --browser firefox --page news --tree extensible --report pages',
        'The same in Firefox, through edge, links and gateway',
      )
      .example('$0 bench paths --sim', 'Schedulers and controllers on unequal links, and fail-over, in virtual time')
      .example('$0 bench paths --real', 'Goodput with 1, 2 and 4 paths over loopback, next to noq')
      .example('$0 bench schedulers', 'Cost of every stream scheduler per packet, with 10 to 1,000 streams')
      .example('$0 bench soak --seconds 60', 'Steady load: memory stays flat, no request fails')
      .example('$0 bench tunnels --sim --cells table-2', 'Tunnels in virtual time, as in the artefacts of their paper')
      .example('$0 bench tunnels --real', "Downloads through the gateway as a proxy for UDP, next to masque-go's proxy")
      .example(
        '$0 bench workers',
        'Requests, downloads and their cost with one and two workers, and what forwarding costs',
      )
      .example('$0 bench upload', "Throughput of one client's uploads, and what they cost the server"),
  async run({ name, $0: _program, _: positionals, ...given }, world) {
    const surplus = (positionals as (string | number)[])[1];
    if (surplus !== undefined)
      throw new UserError('USAGE', `\`bench ${name}\` does not take \`${surplus}\``, {
        hint: '`sheaf bench --help` shows the options',
      });
    // yargs lists `--two-words` under two names, and absent options as undefined.
    const chosen = Object.entries(given).filter(
      ([option, value]) => value !== undefined && option === option.toLowerCase(),
    );
    const { runBench } = await import('../run_bench.js');
    return runBench(name, Object.fromEntries(chosen), world);
  },
};
