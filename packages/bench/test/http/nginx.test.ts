import { expect, test } from 'vitest';
import { describeNginx, versionOf } from '../../src/http/nginx.js';

const build = (version: string, modules: string): string =>
  `nginx version: nginx/${version}\nbuilt with OpenSSL 3.0.22\nTLS SNI support enabled\nconfigure arguments: --with-http_ssl_module ${modules}\n`;

test('an nginx with both modules is measured over both protocols', () => {
  expect(describeNginx(build('1.29.3', '--with-http_v2_module --with-http_v3_module'))).toEqual({
    version: '1.29.3',
    reasons: {},
  });
});

test("Debian 12's is measured over HTTP/2 alone, and says why", () => {
  expect(describeNginx(build('1.22.1', '--with-http_v2_module'))).toEqual({
    version: '1.22.1',
    reasons: { h3: 'nginx 1.22.1 is built without HTTP/3, which came with 1.25' },
  });
});

test('the version is that of the package only if the program is of the package', () => {
  expect(versionOf('1.22.1', '1.22.1-9+deb12u3')).toBe('1.22.1-9+deb12u3');
  expect(versionOf('1.29.3', '1.22.1-9+deb12u3')).toBe('1.29.3');
  expect(versionOf('1.29.3', undefined)).toBe('1.29.3');
});
