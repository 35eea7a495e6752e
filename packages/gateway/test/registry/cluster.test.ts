import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { NatsDriver } from '../../src/registry/nats_driver.js';
import { fleetTimes } from '../../src/registry/times.js';
import { joinFleet, keysOf, seenBy, type Member } from '../support/fleet.js';
import { startCluster, type NatsServer } from '../support/nats_server.js';

/** A third of the times of operation */
const times = { ...fleetTimes, beat: 300, suspect: 900, gone: 10_000, echo: 900, audit: 3_000 };
const patience = { timeout: 120_000 };
const names = ['a', 'b', 'c'];
const allAlive = { a: 'alive', b: 'alive', c: 'alive' };

interface FleetOfThree {
  servers: NatsServer[];
  members: Member[];
  /** What each member says, which changes with every question */
  ask(): Promise<void>;
}

/** Three members that know three servers each, and prefer different ones */
async function fleetOfThree(): Promise<FleetOfThree> {
  const servers = await startCluster();
  const keys = keysOf(...names);
  const members = await Promise.all(
    names.map((name, index) => {
      const urls = servers.map(({ url }) => url);
      const preferred = [...urls.slice(index), ...urls.slice(0, index)];
      const driver = new NatsDriver({ servers: preferred, bucket: 'test', replicas: 3 });
      return joinFleet({ driver, keys, name, more: { times } });
    }),
  );
  let round = 0;
  const ask = async (): Promise<void> => {
    round += 1;
    for (const member of members) member.say({ configuration: round.toString(16).padStart(64, '0') });
    await expect.poll(() => members.every((member) => agrees(member, round)), patience).toBe(true);
  };
  await ask();
  return { servers, members, ask };
}

/** Whether a member sees everybody alive, with what they say now */
function agrees(member: Member, round: number): boolean {
  const { nodes } = member.fleet.view;
  return (
    nodes.length === names.length &&
    nodes.every(({ state, configuration }) => state === 'alive' && Number.parseInt(configuration, 16) === round)
  );
}

/** Does something to the registry, and prints how long it takes until all members agree again. */
async function timeToAgree(what: string, { members, ask }: FleetOfThree, act: () => unknown): Promise<void> {
  const begin = performance.now();
  await act();
  await ask();
  const dead = members.map(({ fleet }) => fleet.status().deadWatches);
  console.info(`${what}: all agree after ${Math.round(performance.now() - begin)} ms, dead watches ${dead.join(', ')}`);
}

async function leaderOf({ servers }: FleetOfThree): Promise<NatsServer> {
  const connection = await connect({ servers: servers.map(({ url }) => url) });
  const { cluster } = await (await jetstreamManager(connection)).streams.info('KV_test');
  await connection.close();
  return servers.find(({ name }) => name === cluster?.leader)!;
}

it('all agree again after the leader is killed, twice', async () => {
  const fleet = await fleetOfThree();
  for (let round = 1; round <= 2; round += 1) {
    const leader = await leaderOf(fleet);
    await timeToAgree(`leader ${leader.name} killed`, fleet, () => leader.kill());
    await timeToAgree(`${leader.name} restarted`, fleet, () => leader.start());
  }
});

it('all agree again after a server is silent, and nobody is suspect while there is no registry', async () => {
  const fleet = await fleetOfThree();
  const { servers, members } = fleet;
  const leader = await leaderOf(fleet);
  await timeToAgree('leader stopped', fleet, () => {
    leader.stop();
  });
  const others = servers.filter((server) => server !== leader);
  others[0]!.stop();
  for (let look = 0; look < 8; look += 1) {
    await sleep(times.beat);
    for (const member of members) expect(seenBy(member)).toEqual(allAlive);
  }
  await timeToAgree('two servers resumed', fleet, () => {
    leader.resume();
    others[0]!.resume();
  });
});

it('all agree again after all servers were killed and restarted', async () => {
  const fleet = await fleetOfThree();
  const { servers, members } = fleet;
  await Promise.all(servers.map((server) => server.kill()));
  for (let look = 0; look < 5; look += 1) {
    await sleep(times.beat);
    for (const member of members) expect(seenBy(member)).toEqual(allAlive);
  }
  await timeToAgree('all restarted', fleet, () => Promise.all(servers.map((server) => server.start())));
  members[2]!.vanish();
  await expect.poll(() => seenBy(members[0]!), patience).toEqual({ ...allAlive, c: 'suspect' });
});
