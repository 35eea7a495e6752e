import { expect, it } from 'vitest';
import { describeNode } from '../../../src/nodes/fleet/describe_node.js';
import { encodeNodeEntry, nodeEntrySchema } from '../../../src/registry/node_entry.js';
import { parseConfiguration } from '../../../src/configuration/load.js';

it('other nodes can read what a node says of itself, with addresses as the transport tells them', () => {
  const [loaded] = parseConfiguration('listen: 127.0.0.1:0\nroutes: [{ files: ./ }]\n', 'sheaf.yaml').nodes;
  if (loaded?.role !== 'gateway') throw new Error('the file describes a gateway');
  const at = (port: number) => ({ address: '192.0.2.1', port, family: 'IPv4' });
  const description = describeNode(
    loaded,
    { address: at(443), backboneAddress: at(4533), forwardingAddress: at(4534), draining: false },
    'ab'.repeat(32),
  );
  const entry = encodeNodeEntry(description, { stopped: false, incarnation: 1, counter: 1 });
  expect(nodeEntrySchema.parse(JSON.parse(entry.toString()))).toMatchObject({
    listen: [{ address: '192.0.2.1', port: 443 }],
    backbone: { address: '192.0.2.1', port: 4533 },
    forwarding: { address: '192.0.2.1', port: 4534 },
  });
});
