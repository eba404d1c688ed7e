# Completion of forklift for bash. It needs nothing but bash, 3.2 or later.
_forklift() {
    COMPREPLY=()
    local line=${COMP_LINE:0:COMP_POINT} words word program out prefix flag= reply directive=0
    # The words up to the cursor, split at blanks only: bash's own words are
    # also split at ":" and "=".
    read -r -a words <<<"$line"
    case $line in
    *[[:blank:]]) words+=("") ;;
    esac
    ((${#words[@]} > 1)) || return 0
    word=${words[${#words[@]} - 1]}
    program=${words[0]/#\~\//$HOME/}
    out=$("$program" __complete "${words[@]:1}" 2>/dev/null) || return 0
    # What bash will not replace: all up to the last character that it splits
    # words at. The answers for --flag=value are values.
    prefix=
    case $word in
    -*=*)
        flag=${word%%=*}=
        case $COMP_WORDBREAKS in *=*) prefix=$flag ;; esac
        ;;
    esac
    case $COMP_WORDBREAKS in *:*) case $word in *:*) prefix=${word%"${word##*:}"} ;; esac ;; esac
    while IFS= read -r reply; do
        reply=${reply%%$'\t'*}
        case $reply in :[0-9]*) ;; *) reply=$flag$reply ;; esac
        case $reply in
        :[0-9]*) directive=${reply#:} ;;
        "$word"*) COMPREPLY[${#COMPREPLY[@]}]=${reply#"$prefix"} ;;
        esac
    done <<<"$out"
    if ((${#COMPREPLY[@]} == 0 && (directive & 4) == 0)); then
        type compopt >/dev/null 2>&1 && compopt -o default
    elif (((directive & 2) != 0)); then
        type compopt >/dev/null 2>&1 && compopt -o nospace
    fi
    return 0
}
complete -F _forklift forklift
