# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of h5bento's commands and options for bash. The program says itself what it has.

_h5bento_words() {
  # The names of commands and options in what --help prints.
  "$1" "${@:2}" --help 2>/dev/null |
    sed -nE 's/^  ((-[a-zA-Z],)?(--[a-z-]+)|[a-z][a-z-]*)( .*|$)/\1/p' | tr ',' '\n'
}

_h5bento_values() {
  # What may stand behind an option, if --help lists it in braces.
  "$1" "${@:3}" --help 2>/dev/null |
    sed -nE "s/^  ((-[a-zA-Z]|--[a-z-]+),)*$2(,--[a-z-]+)? :\{([^}]*)\}.*/\4/p" | tr ',' '\n'
}

_h5bento() {
  local current="${COMP_WORDS[COMP_CWORD]}" program="${COMP_WORDS[0]}" command=() word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    command+=("$word")
    [[ ${command[0]} =~ ^(view|transfer)$ && ${#command[@]} -lt 2 ]] || break
  done
  COMPREPLY=()
  local before="${COMP_WORDS[COMP_CWORD - 1]}"
  if [[ $before == -* && $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_h5bento_values "$program" "$before" "${command[@]}")" -- "$current")
    ((${#COMPREPLY[@]})) && return
  fi
  if ((${#command[@]} == 0)) || [[ $current == -* ]] || [[ ${command[*]} =~ ^(view|transfer)$ ]]; then
    local kind='^[a-z]'
    [[ $current == -* ]] && kind='^-'
    mapfile -t COMPREPLY < <(compgen -W "$(_h5bento_words "$program" "${command[@]}" | grep -- "$kind")" -- "$current")
  fi
  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _h5bento h5bento
