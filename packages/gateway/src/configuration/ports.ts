import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type * as Native from '@sheaf/native';
import { UserError } from '../errors/user_error.js';
import type { ReturnOptions } from '../schema/backends.js';
import { listenError } from '../values/listen_error.js';
import { returnAddressError } from '../values/return_address_error.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { eachAddress, type ListenAddress } from '../values/scalars.js';
import type { VisibleConfiguration } from './visible.js';

/** Tries to listen on the ports of a node and to open what it sends from, and releases all of it. */
export async function checkPorts(
  { at, listen, http, admin, backbone, localPorts, return: returns }: VisibleConfiguration,
  document: ConfigurationDocument,
): Promise<Diagnostic[]> {
  const tried = [
    ...(listen ? eachAddress(listen) : []).flatMap((address) =>
      (['TCP', 'UDP'] as const).map((protocol) => ({ option: ['listen'], address, protocol })),
    ),
    { option: ['http'], address: http, protocol: 'TCP' as const },
    { option: ['admin'], address: admin, protocol: 'TCP' as const },
    { option: ['backbone'], address: backbone, protocol: 'UDP' as const },
    ...localPorts.map(({ path, address, protocol }) => ({ option: path, address, protocol })),
  ];
  const warnings: Diagnostic[] = [];
  for (const { option, address, protocol } of tried) {
    const warning = await check([...at, ...option], address, protocol, document);
    if (warning) warnings.push(warning);
  }
  return returns ? [...warnings, ...(await checkReturnAddresses(at, returns, document))] : warnings;
}

/** Returns the native module; undefined where its addon is not built. Running nodes say so themselves. */
async function nativeModule(): Promise<typeof Native | undefined> {
  try {
    const native = await import('@sheaf/native');
    native.loadAddon();
    return native;
  } catch {
    return undefined;
  }
}

async function checkReturnAddresses(
  at: ValuePath,
  { from, via }: ReturnOptions,
  document: ConfigurationDocument,
): Promise<Diagnostic[]> {
  const native = await nativeModule();
  if (!native) return [];
  return from.flatMap((address, index): Diagnostic[] => {
    try {
      native.openReturnSocket({ from: address, via }).close();
      return [];
    } catch (cause) {
      const { code, message, hint } = returnAddressError(cause);
      const range = document.locateValue([...at, 'return', 'from', index]);
      return [{ code, message, range, ...(hint === undefined ? {} : { hint }) }];
    }
  });
}

async function check(
  option: ValuePath,
  address: ListenAddress | undefined,
  protocol: 'TCP' | 'UDP',
  document: ConfigurationDocument,
): Promise<Diagnostic | undefined> {
  if (!address || address.port === 0) return undefined;
  try {
    await (protocol === 'TCP' ? tryTcp(address) : tryUdp(address));
    return undefined;
  } catch (cause) {
    const error = listenError(cause, address, protocol);
    if (!(error instanceof UserError)) throw error;
    return {
      code: error.code,
      message: error.message,
      range: document.locateValue(option),
      ...(error.hint === undefined
        ? {}
        : { hint: error.code === 'PORT_TAKEN' ? `unless it is this file's own gateway: ${error.hint}` : error.hint }),
    };
  }
}

async function tryTcp({ address, port }: ListenAddress): Promise<void> {
  const server = createServer().listen({ host: address, port });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

async function tryUdp({ address, port }: ListenAddress): Promise<void> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.bind({ address, port, exclusive: true });
    await once(socket, 'listening');
  } finally {
    socket.close();
  }
}
