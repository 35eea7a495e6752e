// A reporter of Vitest for errors that belong to no test, which its JSON reporter leaves out. They go into the file that
// SHEAF_UNHANDLED names, a list of texts.
import { writeFileSync } from 'node:fs';

export default class UnhandledReporter {
  onTestRunEnd(_modules, errors) {
    const texts = errors.map(({ name, message }) => `${name ?? 'Error'}: ${message}`);
    writeFileSync(process.env.SHEAF_UNHANDLED, JSON.stringify(texts));
  }
}
