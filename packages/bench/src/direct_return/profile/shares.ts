/** What a gateway's processor does. `wait`: to wait for the kernel and to set timers; `other`: the rest of the transport. */
export const WORK = ['receive', 'open', 'acknowledge', 'javascript', 'order', 'seal', 'send', 'wait', 'other'] as const;
export type Work = (typeof WORK)[number];

/**
 * Functions that tell what a sample is about. The innermost that is named here decides. Callers of the ciphers, which are
 * assembly, are often not found.
 */
const FUNCTIONS: readonly { work: Work; name: RegExp }[] = [
  { work: 'open', name: /^aes_gcm_dec_/ },
  { work: 'seal', name: /^aes_gcm_enc_/ },
  { work: 'receive', name: /\b(?:UdpSocket::receive|recvmmsg|recvmsg)/ },
  { work: 'send', name: /\b(?:BatchSender::|SendOnlySocket::|UdpSocket::send|sendmsg|sendmmsg)/ },
  { work: 'open', name: /\b(?:open_one_rtt|remove_header_protection|(?:\w*Keys|PacketProtection\w*)::open)\b/ },
  { work: 'seal', name: /\b(?:\w*Keys|BoundedSealer|PacketProtection\w*)::seal\b/ },
  {
    work: 'acknowledge',
    name: /\b(?:PacketReceiver::acknowledge|LossDetection::settle|SentPackets::settle|Senders::)/,
  },
  {
    work: 'order',
    name: /\b(?:DelegatedStreams::|Delegations::|RunOrders::|OrdersHost::|RunChannel::|PacketBuilder::(?:order|number)_run)/,
  },
  { work: 'wait', name: /\b(?:epoll_p?wait|DeadlineTimer::set|DeadlineTimer::arm|timerfd_settime)/ },
];
/** The same for samples without such a function */
const PARTS: readonly { work: Work; name: RegExp }[] = [
  { work: 'javascript', name: /\b(?:v8|v8impl|node|Builtins_\w*|sheaf::binding)\b/ },
  { work: 'other', name: /\bsheaf::/ },
  { work: 'wait', name: /\buv_/ },
];
/** Files of code that V8 has compiled, which has no names */
const COMPILED = /\[JIT\]|perf-\d+\.map|\/\/anon/;

/** One function on the stack of a sample */
export interface Frame {
  name: string;
  /** Program or library that has it */
  file: string;
}

/** Reads the output of `perf script -F ip,sym,dso`: stacks from the inside out, with empty lines between. */
export function parseStacks(output: string): Frame[][] {
  return output
    .split(/\n\s*\n/)
    .map((block) =>
      block.split('\n').flatMap((line) => {
        const [, name, file] = /^\s*[0-9a-f]+ (.*) \(([^()]*)\)\s*$/.exec(line) ?? [];
        return name === undefined || file === undefined ? [] : { name, file };
      }),
    )
    .filter((frames) => frames.length > 0);
}

/** Returns what a sample is about. */
export function workOf(stack: readonly Frame[]): Work {
  for (const { name } of stack) {
    const found = FUNCTIONS.find((known) => known.name.test(name));
    if (found) return found.work;
  }
  for (const { name, file } of stack) {
    if (COMPILED.test(file)) return 'javascript';
    const found = PARTS.find((known) => known.name.test(name));
    if (found) return found.work;
  }
  return 'other';
}

/** Returns the share of each kind of work, 0 to 1. */
export function sharesOf(stacks: readonly (readonly Frame[])[]): Record<Work, number> {
  const counts = new Map<Work, number>();
  for (const stack of stacks) {
    const work = workOf(stack);
    counts.set(work, (counts.get(work) ?? 0) + 1);
  }
  const share = (work: Work): number => (counts.get(work) ?? 0) / Math.max(1, stacks.length);
  return Object.fromEntries(WORK.map((work) => [work, share(work)])) as Record<Work, number>;
}
