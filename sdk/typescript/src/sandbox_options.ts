/** The options of a sandbox in the form of the native addon. */
import { InvalidArgument } from "./errors.js";
import { sideOf } from "./names.js";
import { secretForm } from "./secrets.js";
import type { PortOptions, SandboxOptions } from "./types.js";

/** Returns the parameters of `sandboxes.run` and `sandboxes.create`. */
export function sandboxParameters(image: string, options: SandboxOptions): object {
  const { ports, copy, hosts, restart, secrets, user, fromSandbox, ...others } = options;
  return {
    ...others,
    image,
    user: userName(user),
    fromSandbox: fromSandbox === undefined ? undefined : sideOf(fromSandbox),
    ports: ports === undefined ? undefined : portList(ports),
    copy: copy && Object.entries(copy).map(([source, destination]) => ({ source, destination })),
    hosts: hosts && Object.entries(hosts).map(([name, address]) => ({ names: [name], address })),
    restart: restartForm(restart),
    secrets: secrets?.map(secretForm),
  };
}

function portList(ports: NonNullable<SandboxOptions["ports"]>): readonly PortOptions[] {
  if (isList(ports)) {
    return ports;
  }
  return Object.entries(ports).map(([guest, hostPort]) => {
    const [guestPort, protocol] = guest.split("/");
    if (guestPort === undefined || !/^\d+$/.test(guestPort)) {
      throw new InvalidArgument(`'${guest}' is not a port of the sandbox`, { hint: 'write 80, "80/tcp" or "53/udp"' });
    }
    return {
      guestPort: Number(guestPort),
      hostPort: hostPort ?? 0,
      ...(protocol === undefined ? {} : { protocol: protocol as PortOptions["protocol"] }),
    };
  });
}

/** Returns a user by name or number as text. */
export function userName(user: string | number | undefined): string | undefined {
  return typeof user === "number" ? String(user) : user;
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
