import { controlDescriptor } from './messages.js';

/** Gives a descriptor of this process to the successor. Returns its number there. */
export type Share = (descriptor: number) => number;

/** Descriptors that another process gets at its start, by their numbers there */
export class DescriptorTable {
  /** In the order of the numbers that follow the control descriptor */
  readonly all: number[] = [];

  readonly share: Share = (descriptor) => controlDescriptor + this.all.push(descriptor);
}
