import { z } from 'zod';

/**
 * Ways of a backend's response to a client. `path`: over a path of the client's own to the backend (Multi-End). `return`: from
 * the gateway's address, sent by the backend. `proxy`: through the gateway.
 */
export const deliveries = ['path', 'return', 'proxy'] as const;
export type Delivery = (typeof deliveries)[number];

/** Every way is tried in this order, which a list may shorten, as far as it does not end before `proxy`. */
const direct: readonly Delivery[] = deliveries;

export const deliveryOption = z
  .union([z.enum(['direct', 'path', 'return', 'proxy']), z.array(z.enum(deliveries)).min(1)])
  .superRefine((value, context) => {
    if (typeof value === 'string') return;
    const places = value.map((way) => deliveries.indexOf(way));
    const rises = places.every((place, index) => index === 0 || place > places[index - 1]!);
    if (rises && value.at(-1) === 'proxy') return;
    context.addIssue({
      code: 'custom',
      message: 'the ways are tried in the order `path`, `return`, `proxy`, and the last one is `proxy`',
      params: {
        code: 'CONFIG_CONFLICT',
        place: 'key',
        hint: 'clients of HTTP/1.1 and HTTP/2 can only be proxied: write `[return, proxy]`, `[path, proxy]` or `direct`',
      },
    });
  });

/** Returns the ways of a route in the order in which they are tried. */
export function deliveryOrder(value: z.output<typeof deliveryOption> = 'direct'): readonly Delivery[] {
  if (Array.isArray(value)) return value;
  if (value === 'direct') return direct;
  return value === 'proxy' ? ['proxy'] : [value, 'proxy'];
}
