import { describe, expect, it } from 'vitest';
import { parseProxyTemplate } from '../../src/tunnel_client/proxy_template.js';

describe('the template of a proxy', () => {
  it.each([
    ['https://proxy.example', '/.well-known/masque/udp/2001%3Adb8%3A%3A1/443/'],
    ['https://proxy.example/', '/.well-known/masque/udp/2001%3Adb8%3A%3A1/443/'],
    ['https://proxy.example/masque/{target_host}/{target_port}', '/masque/2001%3Adb8%3A%3A1/443'],
    ['https://proxy.example/m?h={target_host}&p={target_port}', '/m?h=2001%3Adb8%3A%3A1&p=443'],
    ['https://proxy.example{?target_host,target_port}', '/?target_host=2001%3Adb8%3A%3A1&target_port=443'],
    ['https://proxy.example/m?v=1{&target_port,target_host}', '/m?v=1&target_port=443&target_host=2001%3Adb8%3A%3A1'],
  ])('%s leads to %s', (text, path) => {
    expect(parseProxyTemplate(text).pathTo('2001:db8::1', 443)).toBe(path);
  });

  it('names the host and port of the proxy', () => {
    expect(parseProxyTemplate('https://[::1]:8443')).toMatchObject({
      host: '::1',
      port: 8443,
      authority: '[::1]:8443',
    });
    expect(parseProxyTemplate('https://proxy.example')).toMatchObject({ port: 443, authority: 'proxy.example' });
  });

  it.each([
    'http://proxy.example',
    'proxy.example:443',
    'https://user:secret@proxy.example',
    'https://proxy.example/{target_host}/',
    'https://proxy.example/{target_host}/{target_port}/{target_port}',
    'https://proxy.example/{+target_host}/{target_port}',
    'https://proxy.example/{target_host}/{target_port}/{other}',
    'https://proxy.example/{target_host}/{target_port}#part',
  ])('%s is refused', (text) => {
    expect(() => parseProxyTemplate(text)).toThrow('is no proxy for UDP');
  });
});
