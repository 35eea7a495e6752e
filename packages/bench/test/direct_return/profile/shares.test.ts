import { expect, test } from 'vitest';
import { parseStacks, sharesOf, workOf } from '../../../src/direct_return/profile/shares.js';

const addon = '/packages/native/build/Release/sheaf.node';
const stack = (...names: string[]) => names.map((name) => ({ name, file: addon }));

test('stacks are read as perf prints them', () => {
  const output = `
	    7f29f3a1b2c4 sheaf::io::UdpSocket::receive_messages() (${addon})
	          d1a3f0 uv__io_poll (/usr/local/bin/node)

	ffffffff81000000 _raw_spin_unlock_irq ([kernel.kallsyms])
	    7f29f0000000 [unknown] (/tmp/perf-17.map)
`;
  const stacks = parseStacks(output);
  expect(stacks).toEqual([
    [
      { name: 'sheaf::io::UdpSocket::receive_messages()', file: addon },
      { name: 'uv__io_poll', file: '/usr/local/bin/node' },
    ],
    [
      { name: '_raw_spin_unlock_irq', file: '[kernel.kallsyms]' },
      { name: '[unknown]', file: '/tmp/perf-17.map' },
    ],
  ]);
  expect(sharesOf(stacks)).toMatchObject({ receive: 0.5, javascript: 0.5, send: 0 });
});

test('the innermost function that is known decides', () => {
  expect(workOf(stack('malloc', 'sheaf::quic::LossDetection::settle()', 'sheaf::io::UdpSocket::receive'))).toBe(
    'acknowledge',
  );
  expect(workOf(stack('udp_sendmsg', 'sheaf::io::BatchSender::send', 'sheaf::switchboard::OrdersHost::flush'))).toBe(
    'send',
  );
  expect(workOf(stack('memcpy', 'sheaf::switchboard::OrdersHost::flush', 'uv_run'))).toBe('order');
  expect(workOf(stack('do_epoll_wait', 'epoll_pwait', 'uv__io_poll'))).toBe('wait');
  expect(workOf(stack('sheaf::quic::Connection::receive', 'uv__io_poll'))).toBe('other');
  expect(workOf(stack('sheaf::binding::report_events', 'sheaf::io::EndpointLoop::run_turn'))).toBe('javascript');
  expect(workOf(stack('v8::internal::Scavenger::Process', 'start_thread'))).toBe('javascript');
  expect(workOf(stack('sheaf::quic::FrameOutcome::on_frame_acknowledged', 'sheaf::quic::LossDetection::settle'))).toBe(
    'acknowledge',
  );
  expect(workOf(stack('aes', 'sheaf::quic::PathKeys::open', 'sheaf::quic::PacketReceiver::open_one_rtt'))).toBe('open');
  expect(workOf(stack('aes', 'sheaf::quic::OneRttKeys::seal', 'sheaf::quic::PacketBuilder::build'))).toBe('seal');
  expect(workOf(stack('sheaf::quic::RunOrders::open', 'sheaf::quic::DelegatedStreams::offer'))).toBe('order');
  expect(workOf(stack('aes_gcm_enc_128_vaes_avx512', '[unknown]'))).toBe('seal');
  expect(workOf(stack('aes_gcm_dec_256_avx_gen4'))).toBe('open');
  expect(workOf(stack('something else'))).toBe('other');
});
