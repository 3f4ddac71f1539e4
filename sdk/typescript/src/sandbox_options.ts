/** The options of a sandbox in the form of the native addon. */
import type { PortOptions, SandboxOptions } from "./types.js";

/** Returns the parameters of `sandboxes.run` and `sandboxes.create`. */
export function sandboxParameters(image: string, options: SandboxOptions): object {
  const { ports, copy, hosts, restart, ...others } = options;
  return {
    ...others,
    image,
    ports: ports === undefined ? undefined : portList(ports),
    copy: copy && Object.entries(copy).map(([source, destination]) => ({ source, destination })),
    hosts: hosts && Object.entries(hosts).map(([name, address]) => ({ names: [name], address })),
    restart: restartForm(restart),
  };
}

function portList(ports: NonNullable<SandboxOptions["ports"]>): readonly PortOptions[] {
  if (isList(ports)) {
    return ports;
  }
  return Object.entries(ports).map(([guestPort, hostPort]) => ({
    guestPort: Number(guestPort),
    hostPort: hostPort ?? 0,
  }));
}

function isList(ports: NonNullable<SandboxOptions["ports"]>): ports is readonly PortOptions[] {
  return Array.isArray(ports);
}

function restartForm(restart: SandboxOptions["restart"]): unknown {
  if (restart === "on-failure") {
    return { "on-failure": {} };
  }
  return typeof restart === "object" ? { "on-failure": restart } : restart;
}
