import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compiledSettings } from '../../src/engine/compiled_settings.js';

const common = { packet_bytes: 1350, batch_packets: 32, packets_per_ack: 2 };

test('every program is read, whatever its language', () => {
  const cipher = 'AES-128-GCM';
  expect(compiledSettings('sheaf')).toEqual({ ...common, write_ahead_bytes: 65_536, cipher });
  expect(compiledSettings('sheaf-endpoint')).toEqual({ ...common, write_ahead_bytes: 42_000, cipher });
  expect(compiledSettings('ngtcp2')).toEqual({ ...common, write_ahead_bytes: 65_536, cipher });
  expect(compiledSettings('quinn-proto')).toEqual({ ...common, write_ahead_bytes: 65_536, cipher });
  expect(compiledSettings('quiche')).toEqual({
    ...common,
    write_ahead_bytes: 65_536,
    cipher: 'chosen by the library',
  });
});

test('another size of packets and another cipher in the sources are seen', () => {
  const changed = (from: string, to: string) => (file: string) => readFileSync(file, 'utf8').replaceAll(from, to);
  expect(compiledSettings('quiche', changed('PACKET_SIZE: usize = 1350', 'PACKET_SIZE: usize = 1_200'))).toMatchObject({
    packet_bytes: 1200,
  });
  expect(compiledSettings('ngtcp2', changed('+AES-128-GCM', '+AES-256-GCM'))).toMatchObject({ cipher: 'AES-256-GCM' });
});

test('sources that no longer say it where they did are refused', () => {
  expect(() => compiledSettings('sheaf', () => '')).toThrow(/settings\.h does not set/);
});
