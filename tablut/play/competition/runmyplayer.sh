#!/bin/sh
# Starts a player for the Tablut competition. Usage: runmyplayer.sh WHITE|BLACK TIMEOUT_SECONDS SERVER_IP
# Written by `tablut play --write-script DIR`, which inserts the Python interpreter for which tablut is installed.
if [ "$#" -ne 3 ]; then
    echo "usage: $0 WHITE|BLACK TIMEOUT_SECONDS SERVER_IP" >&2
    exit 2
fi
exec @PYTHON@ -P -m tablut play --role "$1" --server "$3" --timeout "$2" --wait 60 @MORE@
