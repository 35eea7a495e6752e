// Floods against a gateway that runs: none ends it, or costs it memory; who breaks a rule loses the connection with the
// right error code, and another client is answered all the time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAttackers, type Attackers } from './attackers.js';
import { startFloodedGateway, type FloodedGateway } from './gateway.js';

const count = 1_000;
const connections = 2;
const halfOpen = 150;
/** What all floods leave behind, at most: what V8 and the C library keep for later. */
const keptMebibytes = 128;

/** For a flood that breaks no rule: it is taken in, or ignored. */
const none = [] as const;
const connectionIdLimitError = 0x9,
  protocolViolation = 0xa,
  cryptoBufferExceeded = 0xd;
const frameUnexpected = 0x105,
  excessiveLoad = 0x107,
  idError = 0x108;
const decompressionFailed = 0x200,
  encoderStreamError = 0x201,
  decoderStreamError = 0x202;

const families: Record<string, Record<string, readonly number[]>> = {
  'HTTP/3': {
    rapid_reset: [excessiveLoad],
    made_you_reset: none,
    priorities_of_unknown_requests: none,
    priorities_of_open_requests: none,
    frames_that_nobody_knows: none,
    settings_twice: [frameUnexpected],
    goaways: none,
    push_ids: none,
    cancelled_pushes: [idError],
    empty_data_frames: none,
    data_frames_of_a_byte: none,
    empty_frames_before_a_request: none,
    trailers_again_and_again: none,
    field_sections_without_end: [excessiveLoad],
    streams_that_nobody_knows: none,
    streams_without_a_type: none,
    connects_that_never_end: none,
    capsules_that_nobody_knows: none,
    a_capsule_without_end: none,
    a_close_capsule_without_end: none,
    capsules_of_datagrams: none,
    datagrams_of_requests_to_come: none,
    datagrams_of_far_requests: none,
  },
  QPACK: {
    insertions_that_nobody_uses: none,
    capacities_again_and_again: none,
    a_capacity_beyond_the_limit: [encoderStreamError],
    duplicates: none,
    an_insertion_without_end: [excessiveLoad],
    a_giant_huffman_string: [excessiveLoad],
    blocked_streams_to_the_limit: none,
    blocked_streams_beyond_the_limit: [decompressionFailed],
    a_giant_huffman_string_in_a_request: [excessiveLoad],
    fields_of_huffman_that_grow: none,
    cancellations_without_end: [decoderStreamError],
    acknowledgements_of_nothing: [decoderStreamError],
    increments_of_nothing: [decoderStreamError],
    garbage_for_the_decoder: [decoderStreamError],
    a_number_without_end: [decoderStreamError],
  },
  QUIC: {
    pings: none,
    pings_in_packets_of_their_own: none,
    path_challenges: none,
    path_responses: none,
    connection_ids: none,
    retirements: none,
    retired_ids_again: none,
    crypto_in_pieces: none,
    crypto_far_away: [cryptoBufferExceeded],
    stream_in_pieces_with_gaps: none,
    bytes_that_differ: none,
    the_same_byte_again: none,
    a_gap_on_every_stream: none,
    all_streams_by_two_frames: none,
    limits_that_grow: none,
    blocked_frames: none,
    packet_numbers_with_gaps: none,
    acks_of_many_ranges: none,
    an_ack_of_what_was_not_sent: [protocolViolation],
    optimistic_acks: [protocolViolation],
    key_updates_one_after_the_other: none,
    tokens_from_a_client: [protocolViolation],
    datagrams_never_read: none,
    addresses_that_change: none,
    path_statuses: none,
    paths_blocked: none,
    path_ids_blocked: none,
    path_maxima: none,
    abandoned_paths: none,
    path_connection_ids: [connectionIdLimitError],
  },
  WebTransport: {
    sessions_that_are_closed: none,
    sessions_that_are_cut_off: none,
    sessions_that_are_left_open: none,
    echoes_that_nobody_reads: none,
    streams_that_no_module_reads: none,
    what_a_module_floods_is_not_read: none,
    streams_of_sessions_to_come: none,
    more_sessions_than_permitted: none,
  },
  'first packets': {
    unknown_versions: none,
    first_packets_of_noise: none,
    first_packets_with_tokens_of_a_byte: none,
    real_first_packets: none,
    first_packets_with_noise_behind: none,
    packets_of_no_connection: none,
  },
};

describe('a gateway', () => {
  let gateway: FloodedGateway;
  let attackers: Attackers;
  let before: number;
  beforeAll(async () => {
    gateway = await startFloodedGateway();
    attackers = startAttackers(gateway.port);
    // What was compiled and allocated for the first requests stays.
    await gateway.meanwhile(() => attackers.flood('pings_in_packets_of_their_own', count, connections));
    before = await gateway.residentMebibytes();
  });
  afterAll(async () => {
    await attackers.stop();
    expect(await gateway.stop()).toBe(0);
  });

  describe.each(Object.entries(families))('is flooded by %s:', (_family, cases) => {
    test.each(Object.entries(cases))('%s', { timeout: 300_000 }, async (name, codes) => {
      const { result, answered } = await gateway.meanwhile(() => attackers.flood(name, count, connections));
      expect(result.error).toBeUndefined();
      expect(result.sent).toBeGreaterThan(0);
      expect(result.codes).toEqual(codes);
      expect(result.open).toBe(codes.length === 0 ? connections : 0);
      expect(answered).toBeGreaterThan(0);
    });
  });

  test('has neither more memory nor strange lines in its log afterwards', async () => {
    expect(await gateway.residentMebibytes()).toBeLessThan(before + keptMebibytes);
    expect(gateway.strangeLines()).toEqual([]);
  });
});

test(
  'handshakes of clients that have proven their addresses are left alone: others connect',
  { timeout: 300_000 },
  async () => {
    const gateway = await startFloodedGateway('retry: always');
    const attackers = startAttackers(gateway.port);
    await gateway.meanwhile(() => attackers.flood('pings_in_packets_of_their_own', count, connections));
    const before = await gateway.residentMebibytes();
    const { result } = await gateway.meanwhile(() => attackers.flood('half_open_after_a_retry', halfOpen, 1));
    expect(result).toMatchObject({ sent: halfOpen });
    expect(await gateway.residentMebibytes()).toBeLessThan(before + 64);
    expect(await attackers.flood('tokens_again', count, 1)).toMatchObject({ sent: count / 100 });
    // New connections, beside those that are half open.
    expect(await attackers.flood('pings', count, connections)).toMatchObject({ open: connections, codes: [] });
    await attackers.stop();
    expect(gateway.strangeLines()).toEqual([]);
    expect(await gateway.stop()).toBe(0);
  },
);
