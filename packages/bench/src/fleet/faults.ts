import { seededRandom, type Random } from '../pages/content/random.js';
import type { ChildProgram } from './child_program.js';
import type { FleetNode } from './fleet_nodes.js';
import { site } from './fleet_nodes.js';
import type { FleetUnderLoad } from './fleet_under_load.js';

/** Something that happens to a process of the fleet, and its end */
export interface Fault {
  name: string;
  /** Whether the fault lasts until the clients of the gateway have noticed it */
  untilNoticed?: boolean;
  /** Whether it ends at once */
  brief?: boolean;
  /** Whether the registry cannot work meanwhile, so that nobody can agree */
  withoutRegistry?: boolean;
  prepare(fleet: FleetUnderLoad, random: Random): PreparedFault | Promise<PreparedFault>;
}

export interface PreparedFault {
  /** Processes that it happens to */
  of: readonly string[];
  /** The node among them, if it is one */
  node?: FleetNode;
  begin(): Promise<void> | void;
  end(): Promise<void>;
}

export const faultsRandom = (seed: number): Random => seededRandom(`faults ${seed}`);

const oneOf = <Value>(values: readonly Value[], random: Random): Value => values[random() % values.length]!;

function killed(node: FleetNode): PreparedFault {
  return {
    of: [node.name],
    node,
    begin: () => node.kill(),
    end: async () => {
      node.start();
      await node.untilServing();
    },
  };
}

function killedServers(fleet: FleetUnderLoad, servers: readonly ChildProgram[]): PreparedFault {
  return {
    of: servers.map(({ name }) => name),
    begin: async () => void (await Promise.all(servers.map((server) => server.kill()))),
    end: async () => {
      for (const server of servers) server.start();
      await fleet.nats.untilAnswering();
    },
  };
}

/** What happens, in this order */
export const faults: readonly Fault[] = [
  {
    name: 'gateway killed',
    untilNoticed: true,
    prepare: ({ nodes }, random) => killed(oneOf(nodes.gateways, random)),
  },
  {
    name: 'gateway killed and started at once',
    brief: true,
    prepare: ({ nodes }, random) => killed(oneOf(nodes.gateways, random)),
  },
  { name: 'backend killed', prepare: ({ nodes }, random) => killed(oneOf(nodes.backends, random)) },
  {
    name: 'leader of NATS killed',
    prepare: async (fleet) => killedServers(fleet, [await fleet.nats.leader(site)]),
  },
  {
    name: 'NATS server partitioned',
    prepare: ({ nats }, random) => {
      const server = oneOf(nats.servers, random);
      return {
        of: [server.name],
        begin: () => server.pause(),
        end: async () => {
          server.resume();
          await nats.untilAnswering();
        },
      };
    },
  },
  {
    name: 'all of NATS killed',
    withoutRegistry: true,
    prepare: (fleet) => killedServers(fleet, fleet.nats.servers),
  },
];
