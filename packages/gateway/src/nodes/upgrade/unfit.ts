import { UserError } from '../../errors/user_error.js';
import type { NodeStatus } from '../../observability/status.js';

/** Says why no process can take over a node, and what to do. */
export function cannotTakeOver({ name, role }: { name: string; role: NodeStatus['role'] }): UserError {
  switch (role) {
    case 'gateway':
    case 'backend':
    case 'edge':
      return new UserError(
        'UPGRADE_REFUSED',
        `\`${name}\` is served by the main thread, whose sockets no other process can take over`,
        {
          hint: 'add `workers: 1` (or more) to the node, and restart it once',
        },
      );
    case 'tunnel':
      return new UserError(
        'UPGRADE_REFUSED',
        `\`${name}\` is a tunnel node, whose connection to its gateway no other process can take over`,
        { hint: 'run it in a process of its own (`sheaf up --node NAME`), and restart it for another version' },
      );
  }
}
