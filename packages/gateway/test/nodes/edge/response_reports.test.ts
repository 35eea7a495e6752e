import { MAXIMUM_RESPONSES } from '@sheaf/web-client/protocol';
import { describe, expect, it } from 'vitest';
import { ResponseReports } from '../../../src/nodes/edge/response_reports.js';

describe('what an edge remembers of responses', () => {
  it('has the parts of each, also while it arrives', () => {
    const reports = new ResponseReports();
    const [first, second] = [reports.add(), reports.add()];
    first.begin(2);
    first.received(100);
    first.received(50);
    first.begin(undefined);
    first.received(7);
    first.end();
    expect(reports.latest()).toEqual([
      { id: first.id, ended: true, parts: [{ backend: 2, bytes: 150 }, { bytes: 7 }] },
      { id: second.id, ended: false, parts: [] },
    ]);
  });

  it('is bounded, and forgets the oldest', () => {
    const reports = new ResponseReports();
    const ids = Array.from({ length: MAXIMUM_RESPONSES + 10 }, () => reports.add().id);
    expect(reports.latest().map(({ id }) => id)).toEqual(ids.slice(10));
  });

  it('keeps one that is still in flight while later ones end', () => {
    const reports = new ResponseReports();
    const slow = reports.add();
    for (let i = 0; i < 2 * MAXIMUM_RESPONSES; i += 1) reports.add().end();
    const latest = reports.latest().map(({ id }) => id);
    expect(latest).toHaveLength(MAXIMUM_RESPONSES);
    expect(latest[0]).toBe(slow.id);
  });
});
