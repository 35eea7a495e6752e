import { closest, formatAddress, UserError, type ErrorCode, type LoadedConfiguration } from '@sheaf/gateway';

type LoadedGateway = Extract<LoadedConfiguration['nodes'][number], { role: 'gateway' }>;

/** What a gateway is looked up by */
export interface GatewayPart {
  /** Such as `backend` */
  noun: string;
  name: string;
  /** Error when no gateway has it */
  code: ErrorCode;
  namesOf(gateway: LoadedGateway): string[];
}

/** Returns the admin address of the gateway of a file that has a part of this name. @throws UserError */
export function adminOf(
  { nodes }: LoadedConfiguration,
  file: string,
  { noun, name, code, namesOf }: GatewayPart,
): string {
  const gateways = nodes.filter((node) => node.role === 'gateway');
  const gateway = gateways.find((each) => namesOf(each).includes(name));
  if (!gateway) {
    const names = gateways.flatMap(namesOf);
    const meant = closest(name, names);
    const known =
      names.length === 0
        ? `no gateway of it has ${noun}s`
        : `its ${noun}s: ${names.map((each) => `\`${each}\``).join(', ')}`;
    throw new UserError(code, `${file} has no ${noun} \`${name}\``, {
      hint: meant === undefined ? known : `did you mean \`${meant}\`?`,
    });
  }
  if (gateway.node.admin) return formatAddress(gateway.node.admin);
  throw new UserError('ADMIN_UNREACHABLE', `the gateway \`${gateway.name}\` has no \`admin\` address`, {
    hint: 'add `admin: 127.0.0.1:9433` and restart it',
  });
}
