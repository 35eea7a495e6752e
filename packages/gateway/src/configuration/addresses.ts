import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { eachAddress, isWildcard, type ListenAddress } from '../values/scalars.js';
import { localPorts } from './local_ports.js';
import type { ParsedNode } from './parsed_node.js';

interface Claim {
  owner: string;
  /** Key that has the address, below those of the node */
  path: ValuePath;
  place: ValuePath;
  address: ListenAddress;
  /** Undefined where UDP and TCP ports of the same number are not told apart */
  protocol?: 'TCP' | 'UDP';
}

/** Refuses a second listener on a port. */
export function checkAddresses(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  const claims = nodes.flatMap(claimsOf).filter(({ address }) => address.port !== 0);
  return claims.flatMap((claim, index): Diagnostic[] => {
    const earlier = claims.slice(0, index).find((other) => collide(other, claim));
    if (!earlier) return [];
    const message = `port ${claim.address.port} is already that of \`${earlier.path.join('.')}\`${earlier.owner}`;
    return [
      { code: 'CONFIG_CONFLICT', message, range: document.locateValue(claim.place), hint: 'choose another port' },
    ];
  });
}

function claimsOf({ name, at, role, node }: ParsedNode): Claim[] {
  const owner = at.length === 0 ? '' : ` of \`${name}\``;
  const claim = (path: ValuePath, address: ListenAddress): Claim => ({ owner, path, place: [...at, ...path], address });
  const admin = node.admin ? [claim(['admin'], node.admin)] : [];
  if (role === 'tunnel')
    return [
      ...localPorts(node).map(({ path, address, protocol }) => ({ ...claim(path, address), protocol })),
      ...admin,
    ];
  return [
    ...eachAddress(node.listen).map((address) => claim(['listen'], address)),
    ...(node.http ? [claim(['http'], node.http)] : []),
    ...admin,
    ...('backbone' in node && node.backbone ? [claim(['backbone'], node.backbone)] : []),
  ];
}

function collide({ address: left, protocol: one }: Claim, { address: right, protocol: other }: Claim): boolean {
  if (one !== undefined && other !== undefined && one !== other) return false;
  return (
    left.port === right.port &&
    (left.address === right.address || isWildcard(left.address) || isWildcard(right.address))
  );
}
