// Tells on standard error which modules a program loads: `node --import` this file.
import { register } from 'node:module';

const hooks = `
import { writeSync } from 'node:fs';
export async function load(url, context, next) {
  writeSync(2, 'module ' + url + '\\n');
  return next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
