// Clients that RFC 9000 permits and that are rare: aioquic in ways in which no client of the matrix is.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installed, printedJson } from './peers/common_program.js';
import { startSite, type Site } from './site.js';

const cases = [
  'parameters_at_their_least',
  'parameters_at_their_most',
  'parameters_that_nobody_knows',
  'parameters_against_the_rules',
  'an_idle_timeout_of_a_millisecond',
  'neither_a_timeout_nor_migration',
  'no_acknowledgement_of_the_handshake',
  'packets_of_the_handshake_that_come_again',
  'a_close_inside_an_initial_packet',
  'key_updates_as_often_as_is_permitted',
  'ids_of_length_zero',
  'another_port_with_ids_of_length_zero',
  'another_port_with_the_same_ids',
  'another_port_many_times',
  'two_ports_in_turns',
  'ids_that_change_with_every_packet',
  'ids_that_are_retired_in_any_order',
  'answers_to_challenges_that_nobody_sent',
  'acknowledgements_that_are_rare',
  'no_acknowledgement_at_all',
  'a_ticket_that_is_used_twice',
  'a_ticket_that_is_used_twice_at_once',
  'a_ticket_of_other_keys',
  'a_ticket_for_another_name',
];

describe('aioquic as a rare client of a gateway', () => {
  let site: Site;
  let outcomes: Record<string, string>;
  beforeAll(async () => {
    site = await startSite();
    const files = [site.small, ...site.medium.slice(0, 4)].map(({ path, sha256 }) => `${path}:${sha256}`);
    const script = installed('packages', 'bench', 'interop', 'aioquic_rules.py');
    const sites = [`127.0.0.1:${site.port}`, `127.0.0.1:${site.idlePort}`];
    // All cases, one after the other
    outcomes = await printedJson(
      installed('.sheaf', 'interop', 'bin', 'python'),
      [script, ...sites, ...files],
      280_000,
    );
  }, 300_000);
  afterAll(() => site.stop());

  test.each(cases)('%s', (name) => {
    expect(outcomes[name]).toBe('served');
  });

  test('there are no other cases', () => {
    expect(Object.keys(outcomes)).toEqual(cases);
  });
});
