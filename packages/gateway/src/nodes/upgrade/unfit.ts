import { UserError } from '../../errors/user_error.js';

/** Says why no process can take over a node that the main thread serves, and what to do. */
export function cannotTakeOver({ name }: { name: string }): UserError {
  return new UserError(
    'UPGRADE_REFUSED',
    `\`${name}\` is served by the main thread, whose sockets no other process can take over`,
    { hint: 'add `workers: 1` (or more) to the node, and restart it once' },
  );
}
