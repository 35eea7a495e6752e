import { duplicateDescriptor, openSharedTcp } from '@sheaf/native';
import type { TakenSockets } from '../../upgrade/taken_sockets.js';
import { canonicalText } from '../../values/canonical.js';
import { listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';
import type { AdminConfiguration, AdminSocket } from './node_life.js';

/** Opens sockets for operators that another process can take over, or takes them from one. */
export class AdminSockets {
  readonly #taken: TakenSockets | undefined;
  /** The one where requests wait until the node serves */
  #waiting: number | undefined;

  constructor(taken: TakenSockets | undefined) {
    this.#taken = taken;
  }

  /** Opens a socket, or takes that of the process before. Requests wait there. @throws UserError when the port is not available */
  wait({ admin, place }: AdminConfiguration): void {
    if (!admin) return;
    try {
      this.#waiting = this.#taken?.takeAdmin(canonicalText(admin))?.descriptor ?? openDescriptor(admin);
    } catch (error) {
      throw listenError(error, admin, 'TCP', place(['admin']));
    }
  }

  /** Returns the socket of `wait`, or another one. @throws an error of the system */
  open(wanted: ListenAddress): AdminSocket {
    const kept = this.#waiting ?? openDescriptor(wanted);
    this.#waiting = undefined;
    return { kept, descriptor: duplicateDescriptor(kept) };
  }
}

function openDescriptor({ address, port }: ListenAddress): number {
  return openSharedTcp({ address, port }, 1).descriptors[0]!;
}
