import { UserError } from '../errors/user_error.js';
import { workerCount } from '../schema/workers.js';
import type { NodeInheritance } from '../upgrade/messages.js';
import { canonicalText } from '../values/canonical.js';
import type { LoadedServer, ServerOptions } from '../schema/loaded.js';

/** What sockets and connections depend on, by the name of an option that says it */
export function fixedOf(loaded: LoadedServer): Record<string, string> {
  const node: ServerOptions = loaded.node;
  return { workers: String(workerCount(node)), connection_ids: canonicalText(node.connection_ids) };
}

/** @throws UserError when a node differs from the one that it takes over from */
export function refuseDifferent(loaded: LoadedServer, { fixed }: NodeInheritance): void {
  for (const [option, value] of Object.entries(fixedOf(loaded)))
    if (fixed[option] !== value)
      throw new UserError('UPGRADE_REFUSED', `an upgrade cannot change \`${option}\` of \`${loaded.name}\``, {
        hint: 'restart the node, or take this change back',
        place: loaded.place([option]),
      });
}
