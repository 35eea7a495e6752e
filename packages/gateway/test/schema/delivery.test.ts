import { expect, it } from 'vitest';
import { describeRoutes } from '../../src/multi_end/protocol/route_map.js';
import { deliveryOption, deliveryOrder } from '../../src/schema/delivery.js';
import { routeOptions } from '../../src/schema/routes.js';

it('a word stands for the ways from it on, and ends with proxying', () => {
  expect(deliveryOrder()).toEqual(['path', 'return', 'proxy']);
  expect(deliveryOrder('direct')).toEqual(['path', 'return', 'proxy']);
  expect(deliveryOrder('path')).toEqual(['path', 'proxy']);
  expect(deliveryOrder('return')).toEqual(['return', 'proxy']);
  expect(deliveryOrder('proxy')).toEqual(['proxy']);
  expect(deliveryOrder(['return', 'proxy'])).toEqual(['return', 'proxy']);
});

it('a list has an order, and ends with what every client can take', () => {
  for (const list of [['proxy'], ['path', 'proxy'], ['return', 'proxy'], ['path', 'return', 'proxy']])
    expect(deliveryOption.safeParse(list).success, list.join()).toBe(true);
  for (const list of [
    [],
    ['path'],
    ['return', 'path', 'proxy'],
    ['proxy', 'return'],
    ['return', 'return', 'proxy'],
    ['direct'],
  ])
    expect(deliveryOption.safeParse(list).success, list.join()).toBe(false);
});

it('clients learn of backends only where they may ask them', () => {
  const backends = (delivery?: unknown): number[] => {
    const route = routeOptions.parse({ path: '/', backends: ['one'], ...(delivery === undefined ? {} : { delivery }) });
    return describeRoutes([route], () => 5).routes[0]!.backends;
  };
  for (const delivery of [undefined, 'direct', 'path', ['path', 'proxy']]) expect(backends(delivery)).toEqual([5]);
  for (const delivery of ['proxy', 'return', ['return', 'proxy']]) expect(backends(delivery)).toEqual([]);
});

it('tunnels for all targets do not hide the backends of later routes', () => {
  const routes = [{ connect: { allow: ['*'], clients: '127.0.0.0/8' } }, { path: '/one', backends: ['one'] }].map(
    (route) => routeOptions.parse(route),
  );
  expect(describeRoutes(routes, () => 5).routes).toEqual([{ path: '/one', backends: [5] }]);
});
