import { existsSync } from 'node:fs';
import { UserError } from '@sheaf/gateway';
import { capture } from '../../process/run_program.js';
import { nftables, whatIsMissing } from '../../process/toolchain.js';

/** A host: a network namespace of its own */
export interface Host {
  /** What starts a program on it */
  readonly enter: string[];
  /** Process that holds it */
  readonly id: number;
  /** Runs `ip` on it, and returns what it prints. */
  run(command: string): string;
  remove(): Promise<void>;
}

interface Namespaces {
  /** Why this machine has none, or undefined */
  missing(): string | undefined;
  make(): Host;
}

/** What the examples in `fixtures` are made with, too */
const home = new URL('../../../../../fixtures/namespaces/network_namespace.mjs', import.meta.url);

export const SOURCE_ADDRESS = '10.96.0.1';
/** The network device of each host */
export const DEVICE = 'wire';
const RECEIVING_HOSTS = 3;

/**
 * A source's host and three of receivers at a switch that snoops: it forwards packets of a group to the hosts that joined it. Hosts end
 * with this process.
 */
export class Lan {
  #loss = 0;

  private constructor(
    readonly source: Host,
    readonly receivers: readonly Host[],
    private readonly middle: Host,
  ) {}

  /** Returns why this machine has no such hosts, or undefined. */
  static async missing(): Promise<string | undefined> {
    return (await findNamespaces()).missing();
  }

  /** @throws UserError BENCH_UNAVAILABLE where nobody may make network namespaces */
  static async make(): Promise<Lan> {
    const namespaces = await findNamespaces();
    const reason = namespaces.missing();
    if (reason !== undefined)
      throw new UserError('BENCH_UNAVAILABLE', `the hosts cannot be made: ${reason}`, {
        hint: 'run it as root on Linux, with the packages iproute2 and util-linux',
      });
    const made: Host[] = [];
    const make = (): Host => {
      const host = namespaces.make();
      made.push(host);
      return host;
    };
    try {
      const lan = new Lan(make(), Array.from({ length: RECEIVING_HOSTS }, make), make());
      lan.#connect();
      await lan.#leaveUnfiltered();
      return lan;
    } catch (error) {
      await Promise.all(made.map((host) => host.remove()));
      throw error;
    }
  }

  /** Returns why packets cannot be lost on the way; undefined where they can. */
  static async whyNoLoss(): Promise<string | undefined> {
    return whatIsMissing([nftables]);
  }

  /** Lets the links to receivers lose this share of the datagrams, each with the same probability. @throws UserError */
  async setLoss(percent: number): Promise<void> {
    if (percent === this.#loss) return;
    // Adding a table that is there changes nothing, and deleting one that is not fails.
    const commands = ['add table netdev loss', 'delete table netdev loss', ...(percent > 0 ? lossRules(percent) : [])];
    for (const { enter } of this.receivers) {
      const [program, ...args] = [...enter, 'nft', commands.join('; ')];
      if ((await capture(program, args)) !== undefined) continue;
      throw new UserError('BENCH_FAILED', 'nft could not set the loss of a link', {
        hint: 'the kernel needs CONFIG_NF_TABLES_NETDEV and CONFIG_NFT_NUMGEN; --loss 0 does without',
      });
    }
    this.#loss = percent;
  }

  /** Returns how many packets have reached each of the receivers' hosts. */
  packets(): number[] {
    return this.receivers.map((host) => {
      const [link] = JSON.parse(host.run(`-json -stats link show dev ${DEVICE}`)) as [
        { stats64: { rx: { packets: number } } },
      ];
      return link.stats64.rx.packets;
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.source, ...this.receivers, this.middle].map((host) => host.remove()));
  }

  /** A switch forwards frames and looks at no rules. This machine's rules, such as those of containers, would cost every arm time. */
  async #leaveUnfiltered(): Promise<void> {
    const [program, ...args] = [
      ...this.middle.enter,
      'sh',
      '-c',
      'for file; do [ ! -e "$file" ] || echo 0 > "$file"; done',
      'sh',
    ];
    await capture(program, [...args, ...bridgeFilters]);
  }

  #connect(): void {
    // A bridge forwards to members alone once a response interval (here 0.1 s) has passed since it began to query.
    this.middle.run('link add switch type bridge mcast_snooping 1 mcast_query_response_interval 10');
    this.middle.run('link set switch type bridge mcast_querier 1');
    this.middle.run('link set switch up');
    for (const [index, host] of [this.source, ...this.receivers].entries()) {
      const port = `port${index}`;
      this.middle.run(`link add ${port} type veth peer name ${DEVICE} netns ${host.id}`);
      this.middle.run(`link set ${port} master switch up`);
      const address = index === 0 ? SOURCE_ADDRESS : `10.96.0.${10 + index}`;
      host.run(`addr add ${address}/24 dev ${DEVICE}`);
      // Links carry single packets, as wires do, so that one that is lost is one.
      host.run(`link set ${DEVICE} gso_max_segs 1 up`);
      host.run(`route add 224.0.0.0/4 dev ${DEVICE}`);
    }
  }
}

/** What lets rules of IP see what a switch forwards, where the kernel has its module */
const bridgeFilters = ['iptables', 'ip6tables', 'arptables'].map(
  (table) => `/proc/sys/net/bridge/bridge-nf-call-${table}`,
);

/** Returns commands of nft. They count in whole numbers: so many of 100,000 are lost. */
function lossRules(percent: number): string[] {
  const of = 100_000;
  return [
    'add table netdev loss',
    `add chain netdev loss links { type filter hook ingress device ${DEVICE} priority 0; }`,
    `add rule netdev loss links meta l4proto udp numgen random mod ${of} < ${Math.round((percent / 100) * of)} drop`,
  ];
}

async function findNamespaces(): Promise<Namespaces> {
  if (!existsSync(home))
    throw new UserError(
      'BENCH_FAILED',
      'this experiment makes hosts as the examples of the repository, which is not here',
      {
        hint: 'clone the repository and run `npm run setup`',
      },
    );
  const { NetworkNamespace } = (await import(home.href)) as { NetworkNamespace: Namespaces };
  return NetworkNamespace;
}
