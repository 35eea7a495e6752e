import { describe, expect, test } from 'vitest';
import { MAXIMUM_RESPONSES, parseResponseReports } from '../src/protocol/index.js';

const report = { id: 7, ended: true, parts: [{ backend: 1, bytes: 12_000 }, { bytes: 31_200 }] };

describe('reports of responses', () => {
  test('name the backend of each part, or none for the gateway', () => {
    expect(parseResponseReports({ responses: [report, { id: 8, ended: false, parts: [] }] })).toEqual([
      report,
      { id: 8, ended: false, parts: [] },
    ]);
  });

  test('leave out what this version does not know', () => {
    expect(parseResponseReports({ responses: [{ ...report, odd: 1 }] })).toEqual([report]);
  });

  test.each([
    [{}, 'responses'],
    [null, 'responses'],
    [{ responses: new Array(MAXIMUM_RESPONSES + 1).fill(report) }, 'responses'],
    [{ responses: [null] }, 'id'],
    [{ responses: [{ ...report, id: -1 }] }, 'id'],
    [{ responses: [{ ...report, id: 1.5 }] }, 'id'],
    [{ responses: [{ ...report, ended: 'yes' }] }, 'ended'],
    [{ responses: [{ ...report, parts: {} }] }, 'parts'],
    [{ responses: [{ ...report, parts: [null] }] }, 'bytes'],
    [{ responses: [{ ...report, parts: [{ bytes: '1' }] }] }, 'bytes'],
    [{ responses: [{ ...report, parts: [{ backend: 'one', bytes: 1 }] }] }, 'backend'],
  ])('are refused where they are none: %j', (value, field) => {
    expect(() => parseResponseReports(value)).toThrow(new RegExp(`^${field}:`));
  });
});
