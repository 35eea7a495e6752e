// Installs programs in Python, each group in a virtual environment of its own below .sheaf.
import { join } from 'node:path';
import { StepError, commandLine, run } from './process.mjs';
import { root } from './stamp.mjs';

/** Makes a virtual environment anew, and installs what a file of requirements names. `what` names it for errors. */
export async function makePythonEnvironment({ environment, requirements, what }) {
  const venv = ['-m', 'venv', '--clear', environment];
  await mustSucceed('Python could not make a virtual environment.', '/usr/bin/python3', venv);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  await mustSucceed(`${what} could not be installed.`, join(environment, 'bin/python'), install);
}

async function mustSucceed(title, command, args) {
  const code = await run(command, args, { cwd: root, env: { PIP_USER: '0' } });
  if (code === 0) return;
  throw new StepError(title, {
    cause: `ended with ${code}; its message is above`,
    command: commandLine(command, args),
  });
}
