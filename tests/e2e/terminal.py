"""What a command prints on a terminal.

A reader of a pseudoterminal learns that the other side has closed it, but may learn this before it has been given what was
written there last: the kernel hands that over later, by a thread of its own. So this side keeps the terminal open, and writes
a mark after what the command wrote: what stands before the mark is all of it.
"""
import fcntl, os, pty, struct, subprocess, termios, threading

MARK = b"\0the command has ended\0"


def run_on_terminal(command, columns, rows, environment, stderr=None):
    """Runs command on a terminal of so many columns and rows, with environment; stderr None: there, too. Gives its exit
    status and what it printed there, with newlines as they were written."""
    controller, terminal = pty.openpty()
    mode = termios.tcgetattr(terminal)
    mode[1] &= ~termios.OPOST  # newlines stay newlines
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    printed = bytearray()

    def read():
        while not printed.endswith(MARK):
            printed.extend(os.read(controller, 65536))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        status = subprocess.call(command, stdin=terminal, stdout=terminal, stderr=terminal if stderr is None else stderr,
                                 env=environment)
    finally:
        os.write(terminal, MARK)
        reader.join()
        os.close(terminal)
        os.close(controller)
    return status, bytes(printed[: -len(MARK)])
