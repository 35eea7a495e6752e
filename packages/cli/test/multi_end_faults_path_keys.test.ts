// A file for each kind of keys: they wait for links most of the time, and run beside each other.
import { describeMultiEndFaults } from './support/multi_end_faults.js';

describeMultiEndFaults('per-path');
