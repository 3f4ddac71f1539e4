/** The package's own modules, which its users cannot import. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** Returns a module of the installed package. */
export function internal<T>(name: string): T {
  return require(join(dirname(require.resolve("msb-sdk")), `${name}.js`)) as T;
}
