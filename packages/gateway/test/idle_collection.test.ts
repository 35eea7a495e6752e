import { expect, it } from 'vitest';
import { IdleCollection } from '../src/idle_collection.js';

const megabytes = (count: number): number => count * 2 ** 20;

/** A heap whose collections keep what lives. */
class FakeHeap {
  collections = 0;

  constructor(
    public living = megabytes(20),
    public garbage = 0,
  ) {}

  held(): number {
    return this.living + this.garbage;
  }

  collect(): void {
    this.collections += 1;
    this.garbage = 0;
  }
}

it('collects what grew, once the process is idle', () => {
  const heap = new FakeHeap();
  const collection = new IdleCollection(heap);
  heap.garbage = megabytes(3);
  collection.look(0, 0);
  expect(heap.collections).toBe(0);
  heap.garbage = megabytes(4);
  collection.look(500, 0.2);
  expect(heap.collections).toBe(0);
  collection.look(1_000, 0.05);
  expect(heap.collections).toBe(1);
  heap.garbage = megabytes(4);
  collection.look(10_500, 0.05);
  expect(heap.collections).toBe(1);
  collection.look(11_000, 0.05);
  expect(heap.collections).toBe(2);
});

it('collects what closed connections leave, although nothing grew', () => {
  const heap = new FakeHeap();
  const collection = new IdleCollection(heap);
  heap.living += megabytes(8);
  collection.look(0, 0);
  expect(heap.collections).toBe(1);
  heap.living -= megabytes(8);
  heap.garbage += megabytes(8);
  collection.look(500, 0);
  expect(heap.collections).toBe(1);
  collection.connectionClosed();
  collection.look(1_000, 0);
  expect(heap.collections).toBe(2);
  collection.look(10_000, 0);
  expect(heap.collections).toBe(2);
});

it('waits longer and longer while closed connections leave little', () => {
  const heap = new FakeHeap();
  const collection = new IdleCollection(heap);
  heap.living += megabytes(8);
  for (let now = 0; now < 300_000; now += 500) {
    collection.connectionClosed();
    collection.look(now, 0);
  }
  // After 0, 4, 12, 28, 60 and 124 seconds, then every 64 seconds
  expect(heap.collections).toBe(8);
});

it('leaves large heaps to V8', () => {
  const heap = new FakeHeap(megabytes(60));
  const collection = new IdleCollection(heap);
  heap.garbage = megabytes(5);
  collection.look(0, 0);
  expect(heap.collections).toBe(0);
});
