import { createHash } from 'node:crypto';
import type { UpstreamMember } from './member.js';
import type { UpstreamOptions } from '../../schema/upstream.js';

/** Chooses one of the candidates, of which there is at least one, for a client's request. */
export type Balance = (candidates: readonly UpstreamMember[], remoteAddress: string) => UpstreamMember;

export function createBalance(policy: UpstreamOptions['balance']): Balance {
  switch (policy) {
    case 'round_robin':
      return roundRobin();
    case 'least_requests':
      return (candidates) => candidates.reduce((best, member) => (member.active < best.active ? member : best));
    case 'client_address':
      return rendezvous;
  }
}

function roundRobin(): Balance {
  let turn = 0;
  return (candidates) => {
    const member = candidates[turn % candidates.length];
    turn = (turn + 1) % Number.MAX_SAFE_INTEGER;
    return required(member);
  };
}

/** Chooses by highest random weight (rendezvous hashing): when a server leaves, only its own clients move. */
function rendezvous(candidates: readonly UpstreamMember[], remoteAddress: string): UpstreamMember {
  const weight = (member: UpstreamMember): string =>
    createHash('sha256').update(`${remoteAddress} ${member.origin}`).digest('hex');
  return required([...candidates].sort((left, right) => (weight(left) < weight(right) ? -1 : 1))[0]);
}

function required(member: UpstreamMember | undefined): UpstreamMember {
  if (!member) throw new Error('no candidate to balance');
  return member;
}
